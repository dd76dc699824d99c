pip install mysqlclient
